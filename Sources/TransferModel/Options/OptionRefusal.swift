/// The reasons why a value is none of an option, at least one.
package struct OptionRefusal: Error, Equatable, Sendable {
    /// The faults of the value.
    package let faults: [Fault]

    package init(_ faults: [Fault]) { self.faults = faults }

    init(_ rule: String) { faults = [Fault(rule: rule)] }

    /// Returns the refusal of a value that has another JSON type than the option.
    static func type(_ name: String) -> OptionRefusal {
        OptionRefusal([Fault(rule: "Must be \(name).", isOfWrongType: true)])
    }

    /// One rule that a value breaks.
    package struct Fault: Equatable, Sendable {
        /// The name of the value's member that is at fault; nil for the value itself.
        package let member: String?
        /// The rule, a sentence for the client's developer.
        package let rule: String
        /// Whether the fault is the JSON type.
        package let isOfWrongType: Bool

        package init(member: String? = nil, rule: String, isOfWrongType: Bool = false) {
            self.member = member
            self.rule = rule
            self.isOfWrongType = isOfWrongType
        }
    }
}
