//! Runs the function `changes` for `cargo lambda watch`.

use fanfold_runtime::StartError;

fn main() -> Result<(), StartError> {
    fanfold_functions::run_in_development("changes")
}
