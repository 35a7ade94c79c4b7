//! List prices of us-east-1 in US dollars, without free tiers, from public price lists of June 2026.
//! (DynamoDB's on-demand prices have been the same since November 2024.)

/// Lambda on arm64.
pub const LAMBDA_REQUEST: f64 = 0.20 / 1e6;
pub const LAMBDA_GB_S: f64 = 0.000_013_333_4;
/// The memory with which a function has a whole core. With less memory, work takes longer in proportion.
pub const LAMBDA_CORE_GB: f64 = 1.769;
/// The lowest cost of a batch of ten messages: one millisecond of a function of the smallest size.
pub const LAMBDA_BATCH_GB_S_MIN: f64 = 0.001 * 0.128;
/// SQS, standard queues, for each 64 KB of a request.
pub const SQS_REQUEST: f64 = 0.40 / 1e6;
/// DynamoDB, on demand, standard tables.
pub const READ_UNIT: f64 = 0.125 / 1e6;
pub const WRITE_UNIT: f64 = 0.625 / 1e6;
/// ElastiCache Serverless for Valkey.
pub const ECPU: f64 = 0.0023 / 1e6;
/// An hour of a GB in ElastiCache for Valkey: in Serverless, and in nodes of the type r7g.large (13.07 GiB), with a replica.
pub const MEMORY_GB_H: [f64; 2] = [0.084, 2.0 * 0.1752 / (13.07 * 1.073_741_824)];

/// The region and month of the prices.
pub const SOURCE: &str = "us-east-1, June 2026";
