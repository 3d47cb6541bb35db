import TransferModel
import TransferWire

extension TransferOptions {
    /// Reads the options of a session or, if `isTask`, of a task, found at `pointer` in the body,
    /// and adds what is wrong to `errors`.
    init(
        _ members: OptionMembers,
        isTask: Bool = false,
        at pointer: String,
        into errors: inout [FieldError]
    ) {
        self.init()
        guard !members.values.isEmpty else { return }
        var rest = members.values
        for option in Self.all where isTask || !option.isForTasksOnly {
            guard let value = rest.remove(option), value != .null else { continue }
            do {
                try option.set(OptionValue(value), in: &self)
            } catch {
                errors += error.fieldErrors(at: "\(pointer)/\(option.name)")
            }
        }
        errors += rest.strangers(at: pointer)
    }

    /// The options that are set, as members of a document.
    var members: OptionMembers {
        var members = OptionMembers()
        for option in Self.all {
            guard let value = option.value(self).map(JSONValue.init) else { continue }
            guard let group = option.group else {
                members.values[option.member] = value
                continue
            }
            members.values[group] = (members.values[group] ?? .object([:]))
                .merged(with: .object([option.member: value]))
        }
        return members
    }
}

extension [String: JSONValue] {
    /// Takes the value of `option` out; nil when it is absent, or its group is no object.
    fileprivate mutating func remove(_ option: TransferOption) -> JSONValue? {
        guard let group = option.group else { return removeValue(forKey: option.member) }
        guard case .object(var members) = self[group] else { return nil }
        let value = members.removeValue(forKey: option.member)
        self[group] = members.isEmpty ? nil : .object(members)
        return value
    }

    /// Returns the errors of members that are no option, after all options have been taken out.
    fileprivate func strangers(at pointer: String) -> [FieldError] {
        sorted { $0.key < $1.key }.flatMap { name, value in
            let place = "\(pointer)/\(JSONPointer.escaped(name))"
            guard TransferOptions.groups.contains(name) else {
                return [FieldError(pointer: place, .unknownField, "There is no such field.")]
            }
            guard case .object(let members) = value else {
                if value == .null { return [] }
                return [FieldError(pointer: place, .wrongType, "Must be an object.")]
            }
            return members.keys.sorted().map { member in
                FieldError(
                    pointer: "\(place)/\(JSONPointer.escaped(member))",
                    .unknownField,
                    "There is no such field."
                )
            }
        }
    }
}

extension OptionValue {
    fileprivate init(_ value: JSONValue) throws(OptionRefusal) {
        switch value {
        case .bool(let flag): self = .flag(flag)
        case .integer(let integer): self = .integer(integer)
        case .number(let number): self = .number(number)
        case .string(let text): self = .text(text)
        case .object(let members):
            var texts: [String: String] = [:]
            for (name, member) in members {
                guard case .string(let text) = member else {
                    throw Self.wrongType("Must be a string.", of: name)
                }
                texts[name] = text
            }
            self = .texts(texts)
        case .array(let elements):
            var texts: [String] = []
            for (index, element) in elements.enumerated() {
                guard case .string(let text) = element else {
                    throw Self.wrongType("Must be a string.", of: "\(index)")
                }
                texts.append(text)
            }
            self = .list(texts)
        case .null: throw Self.wrongType("Must not be null.")
        }
    }

    private static func wrongType(_ rule: String, of member: String? = nil) -> OptionRefusal {
        OptionRefusal([OptionRefusal.Fault(member: member, rule: rule, isOfWrongType: true)])
    }
}

extension JSONValue {
    fileprivate init(_ value: OptionValue) {
        switch value {
        case .flag(let flag): self = .bool(flag)
        case .integer(let integer): self = .integer(integer)
        case .number(let number): self = .number(number)
        case .text(let text): self = .string(text)
        case .list(let texts): self = .array(texts.map(JSONValue.string))
        case .texts(let texts): self = .object(texts.mapValues(JSONValue.string))
        }
    }
}

extension OptionRefusal {
    fileprivate func fieldErrors(at pointer: String) -> [FieldError] {
        faults.map { fault in
            FieldError(
                pointer: pointer + (fault.member.map { "/" + JSONPointer.escaped($0) } ?? ""),
                fault.isOfWrongType ? .wrongType : .invalidValue,
                fault.rule
            )
        }
    }
}
