import Foundation

/// The processors that this process may use.
package enum Processors {
    /// Their number when it was first asked for, at least 1: those of the machine, or as many as
    /// the tightest limit of a ``ControlGroup`` allows, rounded up.
    package static let count = count(
        of: ProcessInfo.processInfo.activeProcessorCount,
        limits: ControlGroup.own.compactMap { $0.limit() }
    )

    static func count(of machine: Int, limits: [Double]) -> Int {
        let limit = limits.min() ?? .infinity
        return limit < Double(machine) ? Int(limit.rounded(.up)) : machine
    }
}
