import TransferModel
import TransferWire

extension TaskFilter {
    /// The names of the parameters that make a filter.
    static let parameters: Set<String> = [
        "state", "kind", clientStringParameter, "created_from", "created_before", "order",
    ]
    /// The name of the parameter for tasks with a client string, which may be any text.
    static let clientStringParameter = "client_persisted_string"

    /// Reads the filter of a list of tasks.
    init(_ query: QueryParameters) throws(Problem) {
        self.init(
            states: try query.states(),
            kind: try query.kind(),
            clientString: try query.clientString(),
            createdFrom: try query.timestamp("created_from")?.date,
            createdBefore: try query.timestamp("created_before")?.date,
            isNewestFirst: try query.isNewestFirst()
        )
    }
}

extension QueryParameters {
    /// Returns the states that `state` names, separated by commas.
    fileprivate func states() throws(Problem) -> [TransferState] {
        guard let text = self["state"] else { return [] }
        var states: [TransferState] = []
        for word in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        {
            guard let state = TransferState(word: String(Substring(word))),
                !states.contains(state)
            else {
                let known = TransferState.allCases.map { "`\($0.rawValue)`" }
                throw Self.invalid(
                    "state",
                    "Must be states of tasks, each named once, separated by commas: "
                        + "\(known.joined(separator: ", "))."
                )
            }
            states.append(state)
        }
        return states
    }

    fileprivate func clientString() throws(Problem) -> ClientString? {
        let name = TaskFilter.clientStringParameter
        guard let text = self[name] else { return nil }
        guard let string = ClientString(text) else {
            throw Self.invalid(name, "Has at most \(ClientString.bytesMax) bytes.")
        }
        return string
    }

    fileprivate func kind() throws(Problem) -> TransferRequest.Kind? {
        guard let text = self["kind"] else { return nil }
        guard let kind = TransferRequest.Kind(word: text) else {
            throw Self.invalid("kind", "Must be `download`, `upload` or `data`.")
        }
        return kind
    }

    fileprivate func timestamp(_ name: String) throws(Problem) -> Timestamp? {
        guard let text = self[name] else { return nil }
        guard let timestamp = Timestamp(rfc3339: text) else {
            throw Self.invalid(
                name,
                "Must be a date and time with offset as in RFC 3339; write `+` as %2B.",
                code: .invalidDate
            )
        }
        return timestamp
    }

    fileprivate func isNewestFirst() throws(Problem) -> Bool {
        switch self["order"] {
        case nil, "oldest": return false
        case "newest": return true
        default: throw Self.invalid("order", "Must be `oldest` or `newest`.")
        }
    }
}
