# `sam build` runs a target for each function and sets ARTIFACTS_DIR. All functions are one binary: the first target
# compiles it, and the others copy it. The same content is uploaded once.
#
# FANFOLD_BUILD=dev takes the development binary of this (Linux) machine, in which the header Fanfold-Dev-Caller names
# the caller: for `sam local start-api`, which has no authorizer.
#
# GNU make 3.81, which macOS has, must be able to read this file. Recipes therefore begin with a tab.

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/../..)
# the folder of the cargo-lambda that `cargo local` installs; a cargo-lambda elsewhere on the PATH comes after it
export PATH := $(ROOT)/target/local/cloud/bin:$(PATH)
ALL := $(or $(CARGO_TARGET_DIR),$(ROOT)/target)
# each architecture has a folder of its own
BUILT := $(ALL)/lambda-$(ARCHITECTURE)

build-%:
ifeq ($(FANFOLD_BUILD),dev)
	cd "$(ROOT)" && cargo build --locked -p fanfold-functions --bin fanfold-dev $(if $(FANFOLD_FEATURES),--features $(FANFOLD_FEATURES))
	cp "$(ALL)/debug/fanfold-dev" "$(ARTIFACTS_DIR)/bootstrap"
else
	cd "$(ROOT)" && cargo lambda build --release --locked -p fanfold-functions --bin fanfold $(TARGET) --lambda-dir "$(BUILT)"
	cp "$(BUILT)/fanfold/bootstrap" "$(ARTIFACTS_DIR)/bootstrap"
endif
