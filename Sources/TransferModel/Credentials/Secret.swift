/// Text that must not appear anywhere but where it is used; shows nothing of itself.
package struct Secret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The text itself, for the one place that sends or seals it.
    package let exposed: String

    package init(_ text: String) { exposed = text }

    /// Redacted.
    package var description: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
