import Hummingbird
import TransferModel
import TransferWire

/// The query of a request, which contains only parameters known to the operation.
struct QueryParameters: Sendable {
    /// The number of items in a page when the client names none, and the maximum.
    static let limitDefault = 100
    static let limitMax = 200
    /// The number of characters that are repeated of a name that is not known.
    private static let shownNameMax = 64

    private var values: [String: String] = [:]

    /// Reads the query of a request.
    ///
    /// - Throws: ``Problem`` for names that are not `allowed`, repeated names, broken escapes and
    ///   values of too many combining marks.
    init(_ request: Request, allowed: Set<String>) throws(Problem) {
        let query = Array((request.uri.query ?? "").utf8)
        for pair in query.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let text = PercentDecoding.text(parts[0], plusIsSpace: true)
            guard let name = text, !CombiningMarks.areTooMany(in: name), allowed.contains(name)
            else {
                throw Self.unknown(text, allowed)
            }
            let value = PercentDecoding.text(
                parts.count > 1 ? parts[1] : [],
                plusIsSpace: true
            )
            guard let value, values.updateValue(value, forKey: name) == nil else {
                throw Self.invalid(name, "Must be given once, in percent-encoded UTF-8.")
            }
            // A client string is compared by the database alone, as bytes.
            let isCompared = name != TaskFilter.clientStringParameter
            guard !isCompared || !CombiningMarks.areTooMany(in: value) else {
                throw Self.invalid(
                    name,
                    "Must not have more than \(CombiningMarks.rowMax) combining marks in a row."
                )
            }
        }
    }

    /// The text of `name`, if it was given.
    subscript(name: String) -> String? { values[name] }

    /// Returns the number of items that the client wants.
    func limit() throws(Problem) -> Int {
        guard let text = self["limit"] else { return Self.limitDefault }
        // Digits alone: also `+1` would be a number.
        let isDigits = text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        guard isDigits, let limit = Int(text), (1...Self.limitMax).contains(limit) else {
            throw Self.invalid("limit", "Must be a whole number from 1 to \(Self.limitMax).")
        }
        return limit
    }

    /// Returns whether a parameter is true; an absent one is false.
    func boolean(_ name: String) throws(Problem) -> Bool {
        switch values[name] {
        case nil, "false": return false
        case "true": return true
        default: throw Self.invalid(name, "Must be `true` or `false`.")
        }
    }

    /// Returns the problem with a parameter that is not `allowed`, whose name may be no text.
    private static func unknown(_ name: String?, _ allowed: Set<String>) -> Problem {
        let shown = String((name ?? "").unicodeScalars.prefix(shownNameMax))
        let known = allowed.sorted().map { "`\($0)`" }
        let all = known.isEmpty ? "none" : known.joined(separator: ", ")
        return Problem([
            FieldError(
                parameter: shown.isEmpty ? "query" : shown,
                .unknownParameter,
                "Is not a parameter of this operation, which has \(all)."
            )
        ])
    }

    /// Returns the problem that refuses the value of `name`.
    static func invalid(
        _ name: String,
        _ detail: String,
        code: FieldError.Code = .invalidValue
    ) -> Problem {
        Problem([FieldError(parameter: name, code, detail)])
    }
}

extension QueryParameters {
    /// The name of the parameter for the client of the session.
    static let client = "client"

    /// Returns the client that the query names, if there is one.
    func client() throws(Problem) -> ClientID? {
        guard let name = self[Self.client] else { return nil }
        guard let client = ClientID(name) else {
            throw Self.invalid(Self.client, ClientRule.name, code: .invalidIdentifier)
        }
        return client
    }

    /// Returns the text with which the identifiers of the sessions begin that are asked for.
    func sessionPrefix(_ name: String = "prefix") throws(Problem) -> String? {
        guard let prefix = self[name] else { return nil }
        guard SessionIdentifier.isValid(prefix) else {
            throw Self.invalid(name, SessionIdentifier.rule, code: .invalidIdentifier)
        }
        return prefix
    }
}
