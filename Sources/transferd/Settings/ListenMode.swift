import Glibc

/// How an instance learns what others did.
enum ListenMode: String, CaseIterable {
    case on
    /// By its polls alone.
    case off
}
