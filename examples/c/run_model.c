/* Runs a program from a file, and one from an array in flash. See CMakeLists.txt beside it for building. */
#include <fidibus.h>
#include <stdio.h>

extern const unsigned char model_pte[]; /* fidibus_embed() made it from model.pte */
extern const size_t model_pte_size;

static fid_status run_once(fid_program *program) {
    fid_method *method;
    const float x[4] = {1, 2, 3, 4};
    const fid_value *y;
    FID_TRY(fid_method_load(program, "forward", NULL, &method));
    fid_status status = fid_method_set_input_tensor(method, 0, FID_FLOAT32, (const int64_t[]){1, 4}, 2, x);
    if (status == FID_OK) status = fid_method_run(method);
    if (status == FID_OK) status = fid_method_output(method, 0, &y);
    if (status == FID_OK) printf("%.3f %.3f\n", ((float *)y->as.tensor->data)[0], ((float *)y->as.tensor->data)[1]);
    fid_method_unload(method);
    return status;
}

int main(int argc, char **argv) {
    fid_message message;
    fid_environment environment = fid_environment_default(&message);
    fid_program *program;
    fid_status status = argc > 1 ? fid_program_open_file(&environment, argv[1], &program)
                                 : fid_program_open_memory(&environment, model_pte, model_pte_size, &program);
    if (status == FID_OK) {
        status = run_once(program);
        fid_program_close(program);
    }
    if (status != FID_OK) fprintf(stderr, "%s\n", message.text);
    return status != FID_OK;
}
