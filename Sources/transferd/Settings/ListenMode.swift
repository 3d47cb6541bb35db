import Glibc

/// The way in which an instance learns what others did.
enum ListenMode: String, CaseIterable {
    case on
    /// Through its polls alone.
    case off
}
