package import Foundation
import PollLoop

/// A control group with half a processor, for as long as it is referred to.
package final class LimitedGroup: Sendable {
    /// The processors that its processes may use.
    package static let limit = 0.5
    private static let periodInMicroseconds = 20_000

    /// Whether this process may make such groups where it runs.
    package static let canBeMade = (try? LimitedGroup()) != nil

    /// The group in each hierarchy.
    private let folders: [String]

    /// Makes a group beneath that of this process.
    ///
    /// - Throws: An error when the system does not let it.
    package init() throws {
        guard let own = ControlGroup.own.first else { throw CocoaError(.featureUnsupported) }
        let name = "transferd-\(UUID())"
        let quota = Int(Self.limit * Double(Self.periodInMicroseconds))
        switch own.files {
        case .version1(let limit, let usage):
            folders = Set([limit, usage]).map { "\($0)/\(name)" }
            try make()
            try write("\(Self.periodInMicroseconds)", to: "\(limit)/\(name)/cpu.cfs_period_us")
            try write("\(quota)", to: "\(limit)/\(name)/cpu.cfs_quota_us")
        case .version2(let folder):
            folders = ["\(folder)/\(name)"]
            try make()
            try write("\(quota) \(Self.periodInMicroseconds)", to: "\(folders[0])/cpu.max")
        }
    }

    deinit { for folder in folders { rmdir(folder) } }

    /// Moves a process into the group, which it has to leave before the group ends.
    package func add(_ process: pid_t) throws {
        for folder in folders { try write("\(process)", to: "\(folder)/cgroup.procs") }
    }

    private func make() throws {
        for folder in folders {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: false
            )
        }
    }

    private func write(_ text: String, to path: String) throws {
        // In one piece, as the kernel's files want it.
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: Data(text.utf8))
        try file.close()
    }
}
