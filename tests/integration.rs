//! Tests of the library as its users see it.

#[path = "integration/input.rs"]
mod input;
#[path = "integration/real_data.rs"]
mod real_data;
