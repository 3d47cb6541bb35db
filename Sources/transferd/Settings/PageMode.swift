/// Whether an instance offers the page at `/`.
enum PageMode: String, CaseIterable {
    case on
    /// Not at all: `/` is a path that does not exist.
    case off
}
