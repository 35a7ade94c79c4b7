//! The modules that every command uses.
//!
//! | module | does |
//! | --- | --- |
//! | [`failure`] | errors of one line |
//! | [`host`] | detects the machine, and refuses one that is not supported |
//! | [`http`] | HTTP calls |
//! | [`node`] | installs Node.js and the npm packages |
//! | [`place`] | paths |
//! | [`process`] | starts and stops programs, and leaves none behind |
//! | [`progress`] | prints the step that runs |
//! | [`tools`] | installs the Python tools, and builds tools of crates.io |

pub mod failure;
pub mod host;
pub mod http;
pub mod node;
pub mod place;
pub mod process;
pub mod progress;
pub mod tools;
