# What `sam build` runs for each function, with ARTIFACTS_DIR from it. The first one builds all functions in
# one go of cargo; the others find their binary there.
#
# FANFOLD_BUILD=dev takes debug builds of this (Linux) machine, in which the header Fanfold-Dev-Caller names
# the caller: for `sam local start-api`, which knows no authorizer.
#
# GNU make 3.81 reads this, which macOS ships: nothing newer, so recipes begin with a tab.

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
FUNCTIONS := Posts Users Timeline Dispatch Deliver Graph Rebuild Audit Sweep Admin
# where `cargo local` keeps cargo-lambda, behind one of your own
export PATH := $(ROOT)/target/local/cloud/bin:$(PATH)
# the two architectures side by side
ALL := $(or $(CARGO_TARGET_DIR),$(ROOT)/target)
BUILT := $(ALL)/lambda-$(ARCHITECTURE)

lower = $(shell echo $(1) | tr A-Z a-z)

.PHONY: $(FUNCTIONS:%=build-%)
$(FUNCTIONS:%=build-%): build-%:
ifeq ($(FANFOLD_BUILD),dev)
	cd "$(ROOT)" && cargo build --locked
	cp "$(ALL)/debug/$(call lower,$*)" "$(ARTIFACTS_DIR)/bootstrap"
else
	cd "$(ROOT)" && cargo lambda build --release --locked $(TARGET) --lambda-dir "$(BUILT)"
	cp "$(BUILT)/$(call lower,$*)/bootstrap" "$(ARTIFACTS_DIR)/bootstrap"
endif
