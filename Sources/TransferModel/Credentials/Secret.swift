/// A text that must appear nowhere but where it is used; its descriptions do not show it.
package struct Secret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The text itself, for the one place that sends or seals it.
    package let exposed: String

    package init(_ text: String) { exposed = text }

    /// A redacted description.
    package var description: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
