/// A header field of a request, in the validated form of what a client sent.
package struct HTTPHeader: Hashable, Sendable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
