//! Runs the function that `_HANDLER` names, as the deployed binary does, but lets the header `Fanfold-Dev-Caller` name
//! the caller. For `sam local start-api`, which has no authorizer.

use fanfold_runtime::StartError;

fn main() -> Result<(), StartError> {
    fanfold_functions::run_handler(fanfold_functions::in_development)
}
