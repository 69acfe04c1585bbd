//! What holds for every eviction policy of the table, and each policy compared with a model of a few lines.

mod ghost_models;
mod laws;
mod models;
