import Foundation

/// The running boot of this machine.
enum Boot {
    /// Differs after each start of the kernel (random(4)).
    ///
    /// Where it cannot be read it is random: then no file is trusted beyond what was made durable.
    static let id: UUID = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text.flatMap { UUID(uuidString: $0.trimmingCharacters(in: .whitespacesAndNewlines)) }
            ?? UUID()
    }()
}
