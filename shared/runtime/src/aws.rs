//! The configuration of the AWS clients. A function makes its clients once.

use std::time::Duration;

use aws_config::BehaviorVersion;
pub use aws_config::SdkConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;

/// Reads region, credentials and endpoints like every AWS SDK. A connection may take 1.5 s, an attempt 3 s, and
/// a call with its up to 4 attempts 8 s, because functions have few seconds.
pub async fn sdk_config() -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(1_500))
        .operation_attempt_timeout(Duration::from_secs(3))
        .operation_timeout(Duration::from_secs(8))
        .build();
    aws_config::defaults(BehaviorVersion::latest())
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard().with_max_attempts(4))
        .load()
        .await
}
