import TransferWire

extension OptionMembers {
    /// The value of the option of this name, `group/member` for one in a group.
    subscript(name: String) -> JSONValue? {
        name.split(separator: "/").reduce(.object(values) as JSONValue?) { value, step in
            guard case .object(let members)? = value else { return nil }
            return members[String(step)]
        }
    }
}
