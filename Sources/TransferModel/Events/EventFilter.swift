/// The kinds of events that a subscription asks for.
package struct EventFilter: Equatable, Sendable {
    /// Kinds and families such as `task.*`, as their owner wrote them.
    package let terms: [String]
    private let kinds: Set<SessionEvent.Kind>
    /// The length of a term in bytes above which it names nothing.
    private static let termBytesMax = 64

    /// Creates a filter; nil when a term names neither a kind nor a family of kinds.
    package init?(_ terms: [String]) {
        self.init(stored: terms)
        guard terms.allSatisfy({ !Self.kinds(of: $0).isEmpty }) else { return nil }
    }

    /// Reads stored terms; a term that this version does not know matches nothing.
    package init(stored terms: [String]) {
        self.terms = terms
        kinds = Set(terms.flatMap(Self.kinds))
    }

    /// Returns whether the filter asks for events of `kind`.
    package func contains(_ kind: SessionEvent.Kind) -> Bool { kinds.contains(kind) }

    private static func kinds(of term: String) -> [SessionEvent.Kind] {
        // Many combining marks in a row would take long to compare.
        guard term.utf8.count <= termBytesMax else { return [] }
        if let kind = SessionEvent.Kind(rawValue: term) { return [kind] }
        guard term.utf8.suffix(2).elementsEqual(".*".utf8) else { return [] }
        let family = term.utf8.dropLast()
        return SessionEvent.Kind.allCases.filter {
            $0.rawValue.utf8.starts(with: family) && $0.isSentUnasked
        }
    }
}
