import ArgumentParser

/// `transferctl cancel`.
struct Cancel: ControlCommand {
    static let configuration = CommandConfiguration(abstract: "Cancels tasks.")
    static let verb = "cancel"

    @OptionGroup var target: ControlTarget
}
