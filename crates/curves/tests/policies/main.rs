//! What holds for every eviction policy of the table, and each of the simple ones beside a model of a few lines.

mod ghost_models;
mod laws;
mod models;
mod pages;
mod scripts;
