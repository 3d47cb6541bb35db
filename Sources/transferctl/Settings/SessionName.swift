import ArgumentParser

/// The name of a session, as `openapi.yaml` describes it.
enum SessionName {
    private static let bytesMax = 255

    /// Throws unless a name, if there is one, can be that of a session.
    static func validate(_ name: String?) throws(ValidationError) {
        guard let name else { return }
        guard (1...bytesMax).contains(name.utf8.count) else {
            throw ValidationError("The name of a session has 1 to \(bytesMax) bytes.")
        }
    }
}
