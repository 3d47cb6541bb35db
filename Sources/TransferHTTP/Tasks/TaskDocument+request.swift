import TransferModel
import TransferWire

extension TaskDocument {
    /// Adds what was asked for and what holds, where a single task is read.
    mutating func add(_ record: TaskRequestRecord) {
        originalRequest = OriginalRequestDocument(
            method: record.method,
            headerNames: record.headerNames,
            upload: record.upload.map(OriginalRequestDocument.Upload.init),
            options: record.options.members
        )
        effectiveConfiguration = EffectiveConfigurationDocument(
            headerNames: record.headerNamesInForce,
            options: record.optionsInForce(method: method).members
        )
    }
}

extension OriginalRequestDocument.Upload {
    fileprivate init(_ upload: TaskRequestRecord.Upload) {
        switch upload {
        case .file(let path): self.init(path: path)
        case .staged: self.init(staged: true)
        case .data(let count): self.init(size: count)
        case .copy(.result(let task)): self.init(copy: .init(task: task.description))
        case .copy(.remote(let url, let headers)):
            self.init(
                copy: .init(
                    url: String(url.prefix { $0 != "?" && $0 != "#" }),
                    headerNames: headers.map(\.name)
                )
            )
        }
    }
}
