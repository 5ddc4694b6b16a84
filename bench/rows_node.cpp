// Rows of a script for node, as a child process that lives as long as the rows do. The script
// answers in lines: first the names of its rows, then their versions, both separated by tabs; after
// that, for each name it is given, the seconds that each body of the file took it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "bench.h"

namespace bench {
namespace {

struct Child {
    pid_t pid = -1;
    FILE *to = nullptr, *from = nullptr;

    Child(const std::string &script, const std::string &file) {
        int in[2], out[2];
        if (pipe(in) || pipe(out) || (pid = fork()) < 0) exit(2);
        if (pid == 0) {
            dup2(in[0], 0);
            dup2(out[1], 1);
            for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
            execlp("node", "node", script.c_str(), file.c_str(), nullptr);
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        to = fdopen(in[1], "w");
        from = fdopen(out[0], "r");
    }
    ~Child() {
        fclose(to); // the script ends at the end of its input
        fclose(from);
        waitpid(pid, nullptr, 0);
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    std::string line() {
        std::string text;
        for (int c; (c = getc(from)) != EOF && c != '\n';) text += static_cast<char>(c);
        if (text.empty()) {
            fprintf(stderr, "bench: the script for node gave no answer\n");
            exit(2);
        }
        return text;
    }
    std::vector<double> pass(const std::string &name) {
        fprintf(to, "%s\n", name.c_str());
        fflush(to);
        std::istringstream words(line());
        std::vector<double> took;
        for (double t; words >> t;) took.push_back(t);
        return took;
    }
};

std::vector<std::string> split(const std::string &text) {
    std::istringstream in(text);
    std::vector<std::string> list;
    for (std::string word; std::getline(in, word, '\t');) list.push_back(word);
    return list;
}

} // namespace

std::vector<std::string> add_node(Rows &rows, const std::string &script, const std::string &file) {
    auto child = std::make_shared<Child>(script, file);
    for (const std::string &name : split(child->line()))
        rows.list.push_back(
            {"node: " + name, nullptr, [child, name] { return child->pass(name); }});
    return split(child->line());
}

} // namespace bench
