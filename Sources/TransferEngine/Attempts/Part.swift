import TransferContainer
import TransferModel

/// The bytes of a download before they are its result.
enum Part: Sendable {
    case file(PartFile)
    case packed(PackedResult)

    /// The fence that names them.
    var fence: Fence {
        switch self {
        case .file(let file): file.fence
        case .packed(let result): result.fence
        }
    }

    /// The place by which they are found.
    var place: Container.Place {
        switch self {
        case .file(let file): file.place
        case .packed(let result): result.place
        }
    }

    /// The file of their own; nil when they have none.
    var file: PartFile? {
        if case .file(let file) = self { file } else { nil }
    }

    /// The pack that they lie in; nil when they have a file of their own.
    var pack: Pack? {
        if case .packed(let result) = self { result.pack } else { nil }
    }
}
