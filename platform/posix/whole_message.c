/* Messages of any length, in memory from malloc. */
#include "platform/posix/whole_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_sentence(void *self, fid_status status, const char *sentence) {
    fid_whole_message *message = self;
    const char *inner = message->text && message->status == status ? message->text : NULL;
    size_t size = strlen(sentence) + (inner ? strlen(inner) + 2 : 0) + 1;
    char *text = malloc(size);
    if (text) snprintf(text, size, "%s%s%s", sentence, inner ? ": " : "", inner ? inner : "");
    free(message->text);
    message->text = text;
    message->status = status;
}

fid_sink fid_whole_message_sink(fid_whole_message *message) { return (fid_sink){keep_sentence, message}; }

const char *fid_whole_message_text(const fid_whole_message *message, fid_status status) {
    return message->text && message->status == status ? message->text : fid_status_text(status);
}

void fid_whole_message_deinit(fid_whole_message *message) {
    free(message->text);
    message->text = NULL;
}
