# What `sam build` runs for each function, with ARTIFACTS_DIR from it. The first one builds all functions in
# one go of cargo; the others find their binary there.

.RECIPEPREFIX := >
ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
FUNCTIONS := Posts Users Timeline Dispatch Deliver Graph Rebuild Audit Sweep
# where `cargo local` keeps cargo-lambda, behind one of your own
export PATH := $(ROOT)/target/local/cloud/bin:$(PATH)
# the two architectures side by side
BUILT := $(or $(CARGO_TARGET_DIR),$(ROOT)/target)/lambda-$(ARCHITECTURE)

lower = $(shell echo $(1) | tr A-Z a-z)

.PHONY: $(FUNCTIONS:%=build-%)
$(FUNCTIONS:%=build-%): build-%:
> cd "$(ROOT)" && cargo lambda build --release --locked $(TARGET) --lambda-dir "$(BUILT)"
> cp "$(BUILT)/$(call lower,$*)/bootstrap" "$(ARTIFACTS_DIR)/bootstrap"
