//! The deployed binary: runs the function that `_HANDLER` names.

use fanfold_runtime::StartError;

fn main() -> Result<(), StartError> {
    fanfold_functions::run_handler(|router| router)
}
