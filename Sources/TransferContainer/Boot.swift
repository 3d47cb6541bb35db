package import Foundation

/// The running boot of this machine.
package enum Boot {
    /// The identifier of the boot, which differs after each start of the kernel (random(4)).
    ///
    /// It is random where it cannot be read: then no file is trusted beyond what was made durable.
    package static let id: UUID = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text.flatMap { UUID(uuidString: $0.trimmingCharacters(in: .whitespacesAndNewlines)) }
            ?? UUID()
    }()
}
