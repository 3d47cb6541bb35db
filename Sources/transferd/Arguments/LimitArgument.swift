import ArgumentParser

/// A limit as an operator writes it: a number, or `none`.
struct LimitArgument<Number: FixedWidthInteger & Sendable>: ExpressibleByArgument {
    /// The number, or nil for no limit.
    let number: Number?

    init?(argument: String) {
        number = Number(argument)
        guard number != nil || argument == "none" else { return nil }
    }
}
