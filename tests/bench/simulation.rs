//! The simulation's DynamoDB and SQS in memory. The test `simulation::likeness` compares its answers with
//! those of the local cloud.
#![allow(dead_code, reason = "the simulation uses more of it")]

#[path = "../stack/simulation/capacity.rs"]
pub mod capacity;
#[path = "../stack/simulation/cloud.rs"]
pub mod cloud;
#[path = "../stack/simulation/expression.rs"]
pub mod expression;
#[path = "../stack/simulation/reserved.rs"]
pub mod reserved;
#[path = "../stack/simulation/units.rs"]
pub mod units;
