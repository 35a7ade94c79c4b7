//! List prices of us-east-1 in US dollars, without free tiers, as public price lists gave them in June
//! 2026 (DynamoDB's on-demand prices are those since November 2024).

/// Lambda on arm64.
pub const LAMBDA_REQUEST: f64 = 0.20 / 1e6;
pub const LAMBDA_GB_S: f64 = 0.000_013_333_4;
/// Memory at which a function has a whole core. With less, the same work takes as much longer.
pub const LAMBDA_CORE_GB: f64 = 1.769;
/// The least that a batch of ten messages costs, whatever is in it: a millisecond of the smallest size.
pub const LAMBDA_BATCH_GB_S_MIN: f64 = 0.001 * 0.128;
/// SQS, standard queues: each 64 KB of a request.
pub const SQS_REQUEST: f64 = 0.40 / 1e6;
/// DynamoDB, on demand, standard tables.
pub const READ_UNIT: f64 = 0.125 / 1e6;
pub const WRITE_UNIT: f64 = 0.625 / 1e6;
/// ElastiCache Serverless for Valkey.
pub const ECPU: f64 = 0.0023 / 1e6;

pub const OF: &str = "us-east-1, June 2026";
