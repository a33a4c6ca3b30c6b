# tool/package.mk - makes archives and packages; included by the top Makefile.
#
#   make dist    $(BUILD)/stackpack-VERSION.tar.xz: the sources, the same bytes for the same sources, whenever and wherever
#                it is made. The sources are the files that git tracks, or, in an unpacked archive, all files.
#   make deb     $(BUILD)/deb/*.deb: Debian's packages, from that archive, by dpkg-buildpackage and debian/
#
# The version is said once, in runtime/stackpack.h; debian/changelog and the manual pages are checked against it.

DIST := stackpack-$(VERSION)
# An unpacked archive has no .git, but its folder may be in another repository.
DIST_GIT := GIT_CEILING_DIRECTORIES='$(CURDIR)/..' git
# Of the newest source: git's last commit, or the header with the version.
DIST_TIME ?= $(or $(SOURCE_DATE_EPOCH),$(shell $(DIST_GIT) log -1 --format=%ct 2>/dev/null || stat -c %Y runtime/stackpack.h))

.PHONY: dist deb
dist:
	@mkdir -p $(BUILD)
	{ $(DIST_GIT) ls-files 2>/dev/null || find . \( -path ./.git -o -path ./build -o -path './$(BUILD)' \) -prune -o -type f -printf '%P\n'; } | LC_ALL=C sort >$(BUILD)/dist-files
	tar --create --mtime=@$(DIST_TIME) --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar \
	  --transform='flags=r;s|^|$(DIST)/|' --files-from=$(BUILD)/dist-files --file=$(BUILD)/$(DIST).tar
	xz -9 --threads=1 --force $(BUILD)/$(DIST).tar

deb: dist
	@[ "$$(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)" = $(VERSION) ] || \
	  { echo "debian/changelog is of another version than $(VERSION)" >&2; false; }
	rm -rf $(BUILD)/deb
	mkdir -p $(BUILD)/deb
	tar --extract --file=$(BUILD)/$(DIST).tar.xz --directory=$(BUILD)/deb
	cd $(BUILD)/deb/$(DIST) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS dpkg-buildpackage --unsigned-source --unsigned-changes
