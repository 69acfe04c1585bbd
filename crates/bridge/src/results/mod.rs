//! Files of results: a row for each run and metric, Parquet, read by column. In memory the rows are numbers; their texts, which
//! repeat, are kept once.

mod columns;
mod groups;
mod index;
mod read;
mod tail;

pub use columns::{Columns, Found};
pub use index::{Index, Known, lacking};
pub use read::{About, Runs, about};
pub use tail::{Filled, Label, Tail};

use arrow_array::{
    Array, BooleanArray, Float64Array, Int32Array, LargeStringArray, RecordBatch, StringArray, UInt64Array,
    cast::AsArray,
    types::{Float64Type, Int32Type, UInt64Type},
};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    file::reader::ChunkReader,
};
use std::{collections::HashMap, fs::File, io, ops::Range, path::Path, sync::Arc};

/// Columns of every file, before those of the factors.
const COLUMNS: [&str; 7] = ["experiment", "scenario", "engine", "seed", "metric", "unit", "value"];
/// Whether a run depends on its seed. Files of before do not have it; the only run of a scenario that does not stands for all seeds.
const SEEDED: &str = "seeded";
/// Rows that are read at once.
const ROWS: usize = 1 << 16;

/// What a file is read from, any number of times.
trait Source: ChunkReader + Sized + 'static {
    fn again(&self) -> io::Result<Self>;
}

impl Source for File {
    fn again(&self) -> io::Result<File> {
        self.try_clone()
    }
}

impl Source for Bytes {
    fn again(&self) -> io::Result<Bytes> {
        Ok(self.clone())
    }
}

/// Rows as they are read.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, String>>>;

/// An open file of results.
#[derive(Debug)]
struct Opened<S> {
    file: S,
    about: ArrowReaderMetadata,
}

impl Opened<File> {
    fn at(path: &Path) -> Result<Opened<File>, String> {
        Opened::of(File::open(path).map_err(|why| why.to_string())?)
    }
}

impl<S: Source> Opened<S> {
    /// Opens it, and sees that it has the columns of results. Texts will be read by number.
    fn of(file: S) -> Result<Opened<S>, String> {
        let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let found = ArrowReaderMetadata::load(&file, plain).map_err(|why| why.to_string())?;
        let schema = found.schema();
        let right = |name: &&str| {
            let kind = schema.field_with_name(name).ok().map(Field::data_type);
            match *name {
                "seed" => kind == Some(&DataType::UInt64),
                "value" => kind == Some(&DataType::Float64),
                _ => kind == Some(&DataType::Utf8),
            }
        };
        let wrong: Vec<&str> = COLUMNS.into_iter().filter(|name| !right(name)).collect();
        if !wrong.is_empty() {
            return Err(format!("its columns are not those of results: {}", wrong.join(", ")));
        }
        let numbered = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let fields = schema.fields().iter().map(|field| match field.data_type() {
            DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(numbered.clone())),
            _ => Arc::clone(field),
        });
        let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields.collect::<Vec<_>>())));
        let about =
            ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options).map_err(|why| why.to_string())?;
        Ok(Opened { file, about })
    }

    /// The columns of the factors: all others, as far as they are texts.
    fn factors(&self) -> Vec<String> {
        let others = self.about.schema().fields().iter().filter(|field| !COLUMNS.contains(&field.name().as_str()));
        let texts = others.filter(|field| matches!(field.data_type(), DataType::Dictionary(..)));
        texts.map(|field| field.name().clone()).collect()
    }

    /// How many groups of rows it has.
    fn groups(&self) -> usize {
        self.about.metadata().num_row_groups()
    }

    /// Reads some columns.
    fn columns(&self, names: &[&str]) -> impl Iterator<Item = Result<RecordBatch, String>> {
        self.columns_of(0..self.groups(), names)
    }

    /// Reads some columns of some groups, one group after the other: each has texts of its own.
    fn columns_of(&self, groups: Range<usize>, names: &[&str]) -> impl Iterator<Item = Result<RecordBatch, String>> {
        let fields = self.about.schema().fields();
        let places: Vec<usize> =
            (0..fields.len()).filter(|&place| names.contains(&fields[place].name().as_str())).collect();
        let mask = ProjectionMask::roots(self.about.parquet_schema(), places);
        groups.flat_map(move |group| match self.batches(group, mask.clone()) {
            Ok(batches) => batches,
            Err(why) => Box::new(std::iter::once(Err(why))),
        })
    }

    /// Reads one group.
    fn batches(&self, group: usize, mask: ProjectionMask) -> Result<Batches, String> {
        let file = self.file.again().map_err(|why| why.to_string())?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.about.clone());
        let builder = builder.with_row_groups(vec![group]).with_projection(mask).with_batch_size(ROWS);
        let reader = builder.build().map_err(|why| why.to_string())?;
        Ok(Box::new(reader.map(|batch| batch.map_err(|why| why.to_string()))))
    }
}

/// A column of texts, whether each has a number or not.
enum Texts<'a> {
    Numbered {
        keys: &'a Int32Array,
        texts: &'a StringArray,
    },
    Plain(&'a StringArray),
    /// As polars writes them.
    Large(&'a LargeStringArray),
    None,
}

impl<'a> Texts<'a> {
    fn of(batch: &'a RecordBatch, name: &str) -> Texts<'a> {
        let Some(column) = batch.column_by_name(name) else { return Texts::None };
        if let Some(plain) = column.as_string_opt::<i32>() {
            return Texts::Plain(plain);
        }
        if let Some(large) = column.as_string_opt::<i64>() {
            return Texts::Large(large);
        }
        let numbered = column.as_dictionary_opt::<Int32Type>();
        numbered
            .and_then(|numbered| Some((numbered.keys(), numbered.values().as_string_opt::<i32>()?)))
            .map_or(Texts::None, |(keys, texts)| Texts::Numbered { keys, texts })
    }

    fn at(&self, place: usize) -> Option<&'a str> {
        match *self {
            Texts::Plain(texts) => texts.is_valid(place).then(|| texts.value(place)),
            Texts::Large(texts) => texts.is_valid(place).then(|| texts.value(place)),
            Texts::Numbered { keys, texts } => {
                let key = keys.is_valid(place).then(|| keys.value(place) as usize)?;
                texts.is_valid(key).then(|| texts.value(key))
            }
            Texts::None => None,
        }
    }

    /// The number of each row's text, from 0 on and the same for equal numbers only: an index into what `each` gives.
    fn keys(&self, rows: usize) -> Vec<u32> {
        match *self {
            Texts::Numbered { keys, .. } if keys.null_count() == 0 => {
                keys.values().iter().map(|&key| key as u32).collect()
            }
            Texts::Numbered { keys, texts } => {
                keys.iter().map(|key| key.map_or(texts.len() as u32, |key| key as u32)).collect()
            }
            Texts::Plain(_) | Texts::Large(_) => (0..rows as u32).collect(),
            Texts::None => vec![0; rows],
        }
    }

    /// What a function gives for each text, by its key, with no text as the last one.
    fn each<T>(&self, of: impl FnMut(Option<&'a str>) -> T) -> Vec<T> {
        match *self {
            Texts::Numbered { texts, .. } | Texts::Plain(texts) => texts.iter().chain([None]).map(of).collect(),
            Texts::Large(texts) => texts.iter().chain([None]).map(of).collect(),
            Texts::None => [None].into_iter().map(of).collect(),
        }
    }
}

/// Texts by number, each once.
#[derive(Debug, Default)]
struct Words {
    all: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Words {
    /// The number of a text, which gets one if it has none.
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.known(text) {
            return number;
        }
        let (text, number): (Arc<str>, u32) = (text.into(), self.len());
        self.all.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// The number of a text that has one.
    fn known(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    fn text(&self, number: u32) -> &str {
        &self.all[number as usize]
    }

    fn len(&self) -> u32 {
        self.all.len() as u32
    }
}

fn numbers<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a UInt64Array, String> {
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<UInt64Type>());
    column.ok_or_else(|| format!("{name} is no whole number"))
}

fn values<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a Float64Array, String> {
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Float64Type>());
    column.ok_or_else(|| format!("{name} is no number"))
}

/// For each row, whether its run depends on the seed.
struct Seeded<'a>(Option<&'a BooleanArray>);

impl<'a> Seeded<'a> {
    fn of(batch: &'a RecordBatch) -> Seeded<'a> {
        Seeded(batch.column_by_name(SEEDED).and_then(|column| column.as_boolean_opt()))
    }

    fn at(&self, place: usize) -> bool {
        self.0.is_none_or(|known| known.is_null(place) || known.value(place))
    }
}
