import Foundation
import TransferModel
import TransferWire

extension CopyRequest {
    /// The most bytes that a URL and its headers may have together.
    static let bytesMax = 48 * 1024

    /// Returns where the bytes lie, or adds what is wrong to `errors`, at `place`.
    func source(at place: String, into errors: inout [FieldError]) -> CopySource? {
        func refuse(_ field: String, _ detail: String) {
            errors.append(FieldError(pointer: place + field, .invalidValue, detail))
        }
        switch (task, url) {
        case (let text?, nil):
            guard headers == nil else {
                refuse("/headers", "Must go with `url`; a result is sent without a request for it.")
                return nil
            }
            guard let id = text.utf8.count == 36 ? UUID(uuidString: text) : nil else {
                refuse("/task", "Must be the id of a task.")
                return nil
            }
            return .result(of: TaskID(id))
        case (nil, let text?):
            let before = errors.count
            let fields = HeaderRules.validate(headers ?? [:], at: "\(place)/headers", into: &errors)
            let address = TaskRequest.Target.url(text).address(at: place, into: &errors)
            guard let address, errors.count == before else { return nil }
            let size = fields.reduce(address.text.utf8.count) { size, field in
                size + field.name.utf8.count + field.value.utf8.count
            }
            guard size <= Self.bytesMax else {
                refuse("", "Has more than \(Self.bytesMax) bytes in its URL and headers.")
                return nil
            }
            return .remote(url: address.text, headers: fields)
        default:
            refuse("", "Must have exactly one of `task` and `url`.")
            return nil
        }
    }
}
