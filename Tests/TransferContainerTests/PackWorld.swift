import Foundation
import Glibc
import TransferModel
import TransferTestSupport

@testable import TransferContainer

/// A container with packs, and attempts of a worker.
final class PackWorld: Sendable {
    let folder: TestFolder
    let container: Container
    let packs: Packs
    let tenant = TenantID(UUID())

    init(in folder: TestFolder? = nil) throws {
        self.folder = try folder ?? TestFolder("packs")
        container = try Container(directory: "\(self.folder.path)/containers")
        packs = Packs(container)
    }

    func place(
        _ task: TaskID,
        _ counter: Int64,
        of tenant: TenantID? = nil
    ) -> Container.Place {
        Container.Place(
            ResultLocation.partPath(of: task, destination: nil, fence: Self.fence(counter)),
            tenant: tenant ?? self.tenant
        )
    }

    static func fence(_ counter: Int64) -> Fence { Fence(incarnation: 7, counter: counter) }

    /// Adds the result of an attempt, to the packs of this process or of another.
    func add(
        _ bytes: [UInt8],
        _ counter: Int64,
        of tenant: TenantID? = nil,
        to packs: Packs? = nil
    ) throws -> (task: TaskID, result: PackedResult?) {
        let task = TaskID(.version7())
        let place = place(task, counter, of: tenant)
        if !container.hasDirectory(of: place) { try container.prepareDirectory(of: place) }
        let result = bytes.withUnsafeBytes {
            (packs ?? self.packs).add(
                $0,
                of: task,
                fence: Self.fence(counter),
                tenant: tenant ?? self.tenant,
                at: place
            )
        }
        return (task, result)
    }

    func content(_ task: TaskID, _ counter: Int64) throws -> [UInt8] {
        let file = try ContainerFile(place(task, counter), in: container)
        var bytes = [UInt8](repeating: 0, count: Int(file.size) + 10)
        let count = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
        return Array(bytes.prefix(count))
    }

    func pack(_ counter: Int64) -> Container.Place {
        Container.Place(ResultLocation.packPath(of: Self.fence(counter)), tenant: tenant)
    }

    /// The path of a pack.
    func path(_ counter: Int64) -> String {
        "\(folder.path)/containers/\(pack(counter).path)"
    }

    /// The space that a pack takes; nil when there is none.
    func blocks(_ counter: Int64) -> Int? {
        var status = stat()
        return stat(path(counter), &status) == 0 ? Int(status.st_blocks) * 512 : nil
    }
}

extension PackWorld {
    static func bytes(_ count: Int, _ seed: UInt8 = 1) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) ^ seed }
    }
}
