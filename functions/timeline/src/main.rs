//! Wires the function `timeline`.

use fanfold_store::http::event::run;
use fanfold_store::http::router::serve;
use fanfold_store::{Config, aws, log};
use fanfold_timeline::{App, routes};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    log::init();
    let app = App::new(&aws::sdk_config().await, &Config::from_env())
        .inspect_err(|error| tracing::error!(%error, "the function cannot start"))?;
    run(serve(routes(), app)).await
}
