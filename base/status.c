/* Status texts and the formatting of failure sentences. */
#include "base/status.h"

const char *fid_status_text(fid_status status) {
    switch ((int)status) {
#define FID_STATUS_CASE(name, value, text)                                                                             \
    case value: return text;
        FID_STATUS_MAP(FID_STATUS_CASE)
#undef FID_STATUS_CASE
    }
    return "unknown status";
}

#if FID_MESSAGES
fid_status fid_fail_formatted(const fid_sink *sink, fid_status status, const char *format, ...) {
    if (!sink || !sink->write) return status;
    char sentence[1000];
    va_list list;
    va_start(list, format);
    fid_format_list(sentence, sizeof sentence, format, list);
    va_end(list);
    sink->write(sink->self, status, sentence);
    return status;
}
#endif

static void message_write(void *self, fid_status status, const char *sentence) {
    fid_message *message = self;
    /* Sentences of one failure arrive from the inside out: "value 3 is no tensor", then "method forward". */
    if (message->status == status && message->text[0]) {
        char inner[sizeof message->text];
        memcpy(inner, message->text, sizeof inner);
        fid_format(message->text, sizeof message->text, "%s: %s", sentence, inner);
    } else {
        fid_format(message->text, sizeof message->text, "%s", sentence);
    }
    message->status = status;
}

fid_sink fid_message_sink(fid_message *message) {
    message->status = FID_OK;
    message->text[0] = 0;
    return (fid_sink){message_write, message};
}
