/// The identifiers of background tasks that a tenant permits, as
/// `BGTaskSchedulerPermittedIdentifiers` of an app.
package struct PermittedIdentifiers: Equatable, Sendable {
    /// Identifiers, and beginnings of identifiers followed by `*`.
    package let terms: [String]

    /// The most terms.
    package static let termsMax = 100
    /// The rule for a term, in words.
    package static let rule = "Must be an identifier, or the beginning of one and `*`."

    /// Restores terms from the database.
    package init(stored terms: [String]) { self.terms = terms }

    /// Whether `term` may be one of the terms.
    package static func isTerm(_ term: String) -> Bool {
        guard let prefix = prefix(of: term) else { return BackgroundTaskIdentifier(term) != nil }
        return prefix.isEmpty || BackgroundTaskIdentifier(prefix) != nil
    }

    /// The part of a term before its `*`; nil for a whole identifier.
    private static func prefix(of term: String) -> String? {
        term.utf8.last == UInt8(ascii: "*") ? String(term.dropLast()) : nil
    }
}
