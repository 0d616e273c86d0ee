// Which files of a directory name a type of which other file, as javac sees it: file, tab, file.
//
//   java JavaEdges.java ROOT
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import com.sun.source.util.TreePathScanner;
import com.sun.source.util.Trees;
import java.io.Writer;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.lang.model.element.Element;
import javax.lang.model.element.TypeElement;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

public class JavaEdges {
    public static void main(String[] arguments) throws Exception {
        Path root = Path.of(arguments[0]).toRealPath();
        List<Path> sources;
        try (var files = Files.walk(root)) {
            sources = files.filter(it -> it.toString().endsWith(".java")).sorted().collect(Collectors.toList());
        }
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null);
        // What is not there is an error and no reason to stop.
        List<String> options = List.of("-proc:none", "-XDshould-stop.ifError=FLOW", "-Xmaxerrs", "1");
        JavacTask task = (JavacTask) compiler.getTask(
            Writer.nullWriter(), manager, problem -> {}, options, null, manager.getJavaFileObjectsFromPaths(sources));
        Iterable<? extends CompilationUnitTree> units = task.parse();
        task.analyze();
        Trees trees = Trees.instance(task);
        TreeSet<String> edges = new TreeSet<>();
        for (CompilationUnitTree unit : units) {
            new Names(trees, root, edges).scan(unit, null);
        }
        edges.forEach(System.out::println);
    }

    static class Names extends TreePathScanner<Void, Void> {
        private final Trees trees;
        private final Path root;
        private final TreeSet<String> edges;

        Names(Trees trees, Path root, TreeSet<String> edges) {
            this.trees = trees;
            this.root = root;
            this.edges = edges;
        }

        @Override
        public Void visitIdentifier(IdentifierTree tree, Void nothing) {
            note();
            return super.visitIdentifier(tree, nothing);
        }

        @Override
        public Void visitMemberSelect(MemberSelectTree tree, Void nothing) {
            note();
            return super.visitMemberSelect(tree, nothing);
        }

        private void note() {
            TreePath path = getCurrentPath();
            Element element = trees.getElement(path);
            if (!(element instanceof TypeElement)) {
                return;
            }
            TreePath declared = trees.getPath(element);
            if (declared == null) {
                return;
            }
            String from = shown(path.getCompilationUnit());
            String to = shown(declared.getCompilationUnit());
            if (!from.equals(to)) {
                edges.add(from + "\t" + to);
            }
        }

        private String shown(CompilationUnitTree unit) {
            URI place = unit.getSourceFile().toUri();
            return root.relativize(Path.of(place)).toString();
        }
    }
}
