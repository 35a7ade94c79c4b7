//! Copies of rows in Valkey, which ranks them.
//!
//! A copy is made in three steps: it begins empty, the rows are read and loaded, and then it is ready. Writers add their
//! changes to it from the beginning on, and rows are read after that, so it misses no change. A small copy is made within
//! a request. A large one is made by messages, part by part.
//!
//! | module | does |
//! | --- | --- |
//! | `copied` | what is copied, and from where |
//! | `call` | calls a copy, and has it made if Valkey does not have it |
//! | `make` | makes a copy, within a request or by messages |

mod call;
mod copied;
mod make;

pub use call::{WAITS_MS, call, keep_at_times};
pub use copied::{Copied, Copier, Made, Place, RowSource, RowsOf, RowsPage, Version};
pub use make::{continue_copy, make};
