/* The fidibus command: finds the subcommand, parses its options, shows help. */
#include <signal.h>
#include <stdlib.h>

#include "tools/command.h"

static const command_row *const commands[] = {
    &command_compile, &command_run, &command_bench, &command_profile, &command_inspect, &command_verify, &command_ops,
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void print_help(FILE *out) {
    fprintf(out, "fidibus carries a PyTorch model to any device\n\nusage: fidibus COMMAND ...\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++) fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\nexample:\n  fidibus compile model.pt2 -o model.pte\n  fidibus run model.pte --input x.npy --output-dir out\n\n"
                 "`fidibus COMMAND --help` says more; `fidibus --version` the version.\n");
}

static void print_command_help(const command_row *command) {
    printf("fidibus %s: %s\n\nusage: fidibus %s %s\n", command->name, command->summary, command->name, command->usage);
    if (command->options[0].name) printf("\noptions:\n");
    for (const option_row *o = command->options; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-26s %s\n", left, o->help);
    }
    printf("\nexample:\n%s", command->example);
}

static const option_row *find_option(const command_row *command, const char *name) {
    for (const option_row *o = command->options; o->name; o++) {
        if (strcmp(o->name, name) == 0) return o;
    }
    return NULL;
}

/* A leading minus is an option unless it is a negative number. */
static bool looks_like_option(const char *text) { return text[0] == '-' && text[1] && !(text[1] >= '0' && text[1] <= '9') && text[1] != '.'; }

static int parse(arguments *a, int count, char **words) {
    for (int i = 0; i < count; i++) {
        if (!looks_like_option(words[i])) {
            if (a->file_count == 64) return usage_error(a, "more than 64 files");
            a->files[a->file_count++] = words[i];
            continue;
        }
        const option_row *option = find_option(a->command, words[i]);
        if (!option) return usage_error(a, "there is no option %s", words[i]);
        if (option->value && i + 1 == count) return usage_error(a, "%s needs a value: %s", option->name, option->value);
        if (a->option_count == 256) return usage_error(a, "more than 256 options");
        a->options[a->option_count++] = (given_option){option->name, option->value ? words[++i] : ""};
    }
    return EXIT_OK;
}

static bool wants_help(int count, char **words) {
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0) return true;
    }
    return false;
}

static int run_command(const command_row *command, int count, char **words) {
    if (wants_help(count, words)) {
        print_command_help(command);
        return EXIT_OK;
    }
    arguments *a = calloc(1, sizeof *a);
    if (!a) return failed(command->name, "out of memory");
    a->command = command;
    int status = parse(a, count, words);
    if (status == EXIT_OK) status = command->run(a);
    free(a);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == EXIT_OK) status = failed(command->name, "cannot write to standard output");
    return status;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error of the write, not a death without a word */
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("fidibus " FID_VERSION);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[1], commands[i]->name) == 0) return run_command(commands[i], argc - 2, argv + 2);
    }
    fprintf(stderr, "fidibus: there is no command \"%s\"\n", argv[1]);
    print_help(stderr);
    return EXIT_USAGE;
}
