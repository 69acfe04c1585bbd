//! Pages of memory, as the kernel and its policies of reclaim see them.

/// Index of a task's address space; the same as its task id.
pub type SpaceId = u32;
/// Place of a page within its space.
pub type PageId = u32;
/// A page's place in the swap area.
pub type SwapSlot = u32;

/// Where a page's contents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Home {
    /// Nowhere yet (the task's own memory), or in its program file.
    #[default]
    Absent,
    /// In memory, in this task's page table.
    Present,
    /// On its way to the swap area; its memory is not free yet.
    Leaving(SwapSlot),
    /// In the swap area.
    Swapped(SwapSlot),
    /// On its way from the swap area or the program file.
    Coming,
}

/// A page of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Page {
    /// Where it is.
    pub home: Home,
    /// Whether the task touched it since the bit was last cleared.
    pub accessed: bool,
    /// Whether its contents are nowhere but in memory.
    pub dirty: bool,
    /// A mark of the policy of reclaim.
    pub mark: u8,
    /// Its number in the order of allocation: a larger number is younger.
    pub born: u32,
}

/// A segment of an address space: pages of one program file, or the task's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The program file; the task's own memory, if none.
    pub image: Option<u16>,
    /// Its first page in the space.
    pub first: PageId,
    /// Its pages.
    pub pages: u32,
}

/// A task's memory.
#[derive(Debug, Clone, Default)]
pub struct Space {
    /// Its segments, in the order of their pages.
    pub segments: Vec<Segment>,
    /// Its pages.
    pub pages: Vec<Page>,
    /// Faults that had to wait for the drive, so far.
    pub major_faults: u32,
    /// Whether its pages may be taken: not before the task began, nor after it ended.
    pub swappable: bool,
}

impl Space {
    /// The segment of a page.
    pub fn segment(&self, page: PageId) -> &Segment {
        let after = self.segments.partition_point(|segment| segment.first <= page);
        &self.segments[after - 1]
    }
}
