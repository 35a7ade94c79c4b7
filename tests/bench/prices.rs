//! List prices of us-east-1 in US dollars, without free tiers. As of June 2026.

/// Lambda on arm64.
pub const LAMBDA_REQUEST: f64 = 0.20 / 1e6;
pub const LAMBDA_GB_S: f64 = 0.000_013_333_4;
/// What the template gives each function.
pub const LAMBDA_GB: f64 = 0.25;
/// SQS, standard queues: each 64 KB of a request.
pub const SQS_REQUEST: f64 = 0.40 / 1e6;
/// DynamoDB, on demand, standard tables.
pub const READ_UNIT: f64 = 0.125 / 1e6;
pub const WRITE_UNIT: f64 = 0.625 / 1e6;
/// ElastiCache Serverless for Valkey.
pub const ECPU: f64 = 0.0023 / 1e6;

pub const OF: &str = "us-east-1, June 2026";
