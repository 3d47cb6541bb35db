import TransferModel
import TransferWire

extension BulkOperationRequest {
    /// Returns the verb and the states of its targets.
    ///
    /// - Throws: ``Problem`` with everything that is wrong, as states that the verb cannot change.
    func operation() throws(Problem) -> (verb: BulkOperation.Verb, states: [TransferState]) {
        guard let verb = BulkOperation.Verb(word: verb) else {
            let known = BulkOperation.Verb.allCases.map { "`\($0.rawValue)`" }
            throw Problem([
                FieldError(
                    pointer: "/verb",
                    .invalidValue,
                    "Must be one of \(known.joined(separator: ", "))."
                )
            ])
        }
        return (verb, try states(for: verb))
    }

    private func states(for verb: BulkOperation.Verb) throws(Problem) -> [TransferState] {
        guard let names = states else { return verb.statesDefault }
        var errors: [FieldError] = []
        if names.isEmpty {
            errors.append(FieldError(pointer: "/states", .noItems, "Must name a state."))
        }
        if names.count > verb.states.count {
            errors.append(
                FieldError(pointer: "/states", .tooManyItems, "Must name each state once.")
            )
            throw Problem(errors)
        }
        var states: [TransferState] = []
        for (index, name) in names.enumerated() {
            guard let state = TransferState(word: name), verb.states.contains(state),
                !states.contains(state)
            else {
                let known = verb.states.map { "`\($0.rawValue)`" }.joined(separator: ", ")
                errors.append(
                    FieldError(
                        pointer: "/states/\(index)",
                        .invalidValue,
                        "Must be a state in which `\(verb.rawValue)` can change a task, named "
                            + "once: \(known)."
                    )
                )
                continue
            }
            states.append(state)
        }
        guard errors.isEmpty else { throw Problem(errors) }
        return states
    }
}
