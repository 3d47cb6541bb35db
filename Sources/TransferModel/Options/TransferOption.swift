/// The declaration of one option: its name, its values and its field.
///
/// Requests, documents, the database and the precedence of a task over its session follow from it;
/// ``TransferOptions`` declares all of them.
package struct TransferOption: Sendable {
    /// The name in the database, and the place in a request: its group's name, `/`, and its own, or
    /// its own alone.
    package let name: String
    /// The object in the API that holds the option besides others; nil for none.
    package let group: String?
    /// The name in the API, in its group if it has one.
    package let member: String
    /// Whether a session has no such option.
    package private(set) var isForTasksOnly = false
    private let write:
        @Sendable (OptionValue, _ isBounded: Bool, inout TransferOptions) throws(OptionRefusal) ->
            Void
    /// Returns the value of the field; nil when it is not set.
    package let value: @Sendable (TransferOptions) -> OptionValue?
    /// Sets the field as in other options, if it is set there.
    let override: @Sendable (inout TransferOptions, TransferOptions) -> Void

    private init<Value: Sendable>(
        _ name: String,
        _ field: any WritableKeyPath<TransferOptions, Value?> & Sendable,
        read: @escaping @Sendable (OptionValue, _ isBounded: Bool) throws(OptionRefusal) -> Value,
        write: @escaping @Sendable (Value) -> OptionValue
    ) {
        self.name = name
        let slash = name.firstIndex(of: "/")
        group = slash.map { String(name[..<$0]) }
        member = slash.map { String(name[name.index(after: $0)...]) } ?? name
        self.write = { value, isBounded, options throws(OptionRefusal) in
            options[keyPath: field] = try read(value, isBounded)
        }
        value = { options in options[keyPath: field].map(write) }
        override = { options, others in
            if let value = others[keyPath: field] { options[keyPath: field] = value }
        }
    }

    /// Sets the field to a value that a client gives.
    ///
    /// - Throws: ``OptionRefusal`` with the rules that the value breaks.
    package func set(
        _ value: OptionValue,
        in options: inout TransferOptions
    ) throws(OptionRefusal) {
        try write(value, true, &options)
    }

    /// Sets the field to a value that was stored, also by a version that allowed another range.
    ///
    /// - Throws: ``OptionRefusal`` for a value of another form.
    package func restore(
        _ value: OptionValue,
        in options: inout TransferOptions
    ) throws(OptionRefusal) {
        try write(value, false, &options)
    }

    /// Returns the option as one that only a task can have.
    func forTasksOnly() -> TransferOption {
        var option = self
        option.isForTasksOnly = true
        return option
    }
}

/// The forms of options.
extension TransferOption {
    typealias Field<Value> = any WritableKeyPath<TransferOptions, Value?> & Sendable

    /// Returns an option that is true or false.
    static func flag(_ name: String, _ field: Field<Bool>) -> TransferOption {
        TransferOption(
            name,
            field,
            read: { value, _ throws(OptionRefusal) in
                guard case .flag(let flag) = value else { throw .type("true or false") }
                return flag
            },
            write: OptionValue.flag
        )
    }

    /// Returns an option that is a whole number within a range.
    static func integer<Number: FixedWidthInteger & Sendable>(
        _ name: String,
        _ field: Field<Number>,
        _ range: ClosedRange<Number>
    ) -> TransferOption {
        TransferOption(
            name,
            field,
            read: { value, isBounded throws(OptionRefusal) in
                guard case .integer(let integer) = value else { throw .type("a whole number") }
                guard let number = Number(exactly: integer), !isBounded || range.contains(number)
                else {
                    throw OptionRefusal(
                        "Must be from \(range.lowerBound) to \(range.upperBound)."
                    )
                }
                return number
            },
            write: { .integer(Int64(clamping: $0)) }
        )
    }

    /// Returns an option that is a time within a range, in seconds; kept to the millisecond.
    static func seconds(
        _ name: String,
        _ field: Field<Duration>,
        _ range: ClosedRange<Double>
    ) -> TransferOption {
        TransferOption(
            name,
            field,
            read: { value, isBounded throws(OptionRefusal) in
                let seconds: Double
                switch value {
                case .integer(let integer): seconds = Double(integer)
                case .number(let number): seconds = number
                default: throw .type("a number")
                }
                guard isBounded ? range.contains(seconds) : abs(seconds) < 1e12 else {
                    throw OptionRefusal(
                        "Must be from \(range.lowerBound) to \(Int(range.upperBound)) seconds."
                    )
                }
                return .milliseconds(Int64((seconds * 1000).rounded()))
            },
            write: { .number($0.givenSeconds) }
        )
    }

    /// Returns an option whose values have names.
    static func choice<Value: Equatable & Sendable>(
        _ name: String,
        _ field: Field<Value>,
        _ names: KeyValuePairs<String, Value>
    ) -> TransferOption {
        let values = names.map { (name: $0.key, value: $0.value) }
        let rule = "Must be " + values.map { "`\($0.name)`" }.joined(separator: " or ") + "."
        return TransferOption(
            name,
            field,
            read: { value, _ throws(OptionRefusal) in
                guard case .text(let text) = value else { throw .type("a string") }
                guard let known = values.first(where: { $0.name.utf8.elementsEqual(text.utf8) })
                else { throw OptionRefusal(rule) }
                return known.value
            },
            write: { value in .text(values.first { $0.value == value }?.name ?? "") }
        )
    }

    /// Returns an option that is a text of a form of its own; `read` returns nil for any other.
    static func text<Value: Sendable>(
        _ name: String,
        _ field: Field<Value>,
        _ rule: String,
        read: @escaping @Sendable (String) -> Value?,
        write: @escaping @Sendable (Value) -> String
    ) -> TransferOption {
        TransferOption(
            name,
            field,
            read: { value, _ throws(OptionRefusal) in
                guard case .text(let text) = value else { throw .type("a string") }
                guard let known = read(text) else { throw OptionRefusal(rule) }
                return known
            },
            write: { .text(write($0)) }
        )
    }

    /// Returns an option that is a list of texts.
    static func list(
        _ name: String,
        _ field: Field<[String]>,
        _ counts: ClosedRange<Int>
    ) -> TransferOption {
        TransferOption(
            name,
            field,
            read: { value, isBounded throws(OptionRefusal) in
                guard case .list(let texts) = value else { throw .type("an array") }
                guard !isBounded || counts.contains(texts.count) else {
                    throw OptionRefusal(
                        "Must have from \(counts.lowerBound) to \(counts.upperBound) elements."
                    )
                }
                return texts
            },
            write: OptionValue.list
        )
    }

    /// Returns an option that is a list of checksums, by algorithm.
    static func checksums(_ name: String, _ field: Field<[Checksum]>) -> TransferOption {
        TransferOption(
            name,
            field,
            read: { value, _ throws(OptionRefusal) in
                guard case .texts(let texts) = value else { throw .type("an object") }
                var checksums: [Checksum] = []
                var faults: [OptionRefusal.Fault] = []
                for (name, hex) in texts.sorted(by: { $0.key < $1.key }) {
                    switch Checksum.named(name, hex: hex) {
                    case .success(let checksum): checksums.append(checksum)
                    case .failure(let refusal): faults += refusal.faults
                    }
                }
                guard faults.isEmpty else { throw OptionRefusal(faults) }
                return checksums.sorted { $0.algorithm < $1.algorithm }
            },
            write: { checksums in
                .texts(
                    Dictionary(
                        checksums.map { ($0.algorithm.rawValue, $0.description) },
                        uniquingKeysWith: { first, _ in first }
                    )
                )
            }
        )
    }
}

extension Checksum {
    fileprivate static func named(_ name: String, hex: String) -> Result<Checksum, OptionRefusal> {
        func refusal(_ rule: String) -> Result<Checksum, OptionRefusal> {
            .failure(OptionRefusal([OptionRefusal.Fault(member: name, rule: rule)]))
        }
        guard let algorithm = ChecksumAlgorithm(rawValue: name) else {
            let known = ChecksumAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            return refusal("Must be one of \(known).")
        }
        guard let checksum = Checksum(algorithm, hex: hex) else {
            return refusal("Must have \(2 * algorithm.byteCount) hexadecimal digits.")
        }
        return .success(checksum)
    }
}
