import HTTPTypes
import Hummingbird
import TransferModel
import TransferStore
import TransferWire

/// A request to read a log of events, with the events wanted and their form.
struct EventQuery: Sendable {
    /// The last event that the client has; nil begins with the oldest event that is kept.
    let after: EventCursor?
    let limit: Int
    /// The filter of event kinds; nil for every kind.
    let filter: EventFilter?
    /// The text with which the identifier of an event's session begins; nil for every event.
    let sessionPrefix: String?
    let form: Form
    /// The other parameters of the query.
    let parameters: QueryParameters

    /// The parameter for ``sessionPrefix``, of operations that allow it.
    static let prefix = "session_prefix"

    /// The form in which the events are sent.
    enum Form: Sendable {
        case page(waiting: WaitPreference?)
        case stream
    }

    /// Reads the query and the fields of a request; the query may also have the parameters
    /// `others`.
    ///
    /// - Throws: ``Problem`` that names what is wrong.
    init(_ request: Request, allowing others: Set<String> = []) throws(Problem) {
        let query = try QueryParameters(
            request,
            allowed: others.union(["after", "limit", "types"])
        )
        parameters = query
        let position = try EventCursor.read(query["after"], from: "after")
        limit = try query.limit()
        sessionPrefix = try query.sessionPrefix(Self.prefix)
        if let types = query["types"] {
            let terms = types.split(separator: ",", omittingEmptySubsequences: false)
            guard let filter = EventFilter(terms.map(String.init)) else {
                throw QueryParameters.invalid(
                    "types",
                    "Must be types of events, or families such as `task.*`, with commas between."
                )
            }
            self.filter = filter
        } else {
            filter = nil
        }
        let field = request.headers.value(of: .lastEventID)
        let last = try EventCursor.read(field == "" ? nil : field, from: "Last-Event-ID")
        guard Self.wantsStream(request.headers) else {
            after = position
            form = .page(waiting: WaitPreference(request.headers))
            return
        }
        // A client that reconnects repeats its first address, and gives its position in the field.
        after = last ?? position
        form = .stream
    }

    /// Whether an event is asked for.
    func wants(_ event: SessionEvent) -> Bool {
        guard filter?.contains(event.kind) ?? true else { return false }
        guard let sessionPrefix else { return true }
        return event.sessionIdentifier?.utf8.starts(with: sessionPrefix.utf8) ?? false
    }

    /// Whether an event that cannot be read may be asked for.
    func wants(_ place: EventPlace) -> Bool {
        guard let filter, let kind = place.kind else { return true }
        return filter.contains(kind)
    }

    /// Whether the stream is named among what the client accepts (RFC 9110 §12.5.1), not by a
    /// wildcard and not with the weight 0.
    private static func wantsStream(_ fields: HTTPFields) -> Bool {
        fields[values: .accept].flatMap { $0.split(separator: ",") }.contains { range in
            let parts = range.lowercased().split(separator: ";").map(\.trimmed)
            guard let type = parts.first, type == EventStream.mediaType else { return false }
            return !parts.dropFirst().contains { parameter in
                ["q=0", "q=0.", "q=0.0", "q=0.00", "q=0.000"].contains(parameter)
            }
        }
    }
}
