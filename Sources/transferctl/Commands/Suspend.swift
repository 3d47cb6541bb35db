import ArgumentParser

/// `transferctl suspend`.
struct Suspend: ControlCommand {
    static let configuration = CommandConfiguration(
        abstract: "Suspends tasks; the bytes they have are kept."
    )
    static let verb = "suspend"

    @OptionGroup var target: ControlTarget
}
